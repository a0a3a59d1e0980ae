"""One reader a corpus. Each gives `Example`s and names licence, address and expected counts in its docstring."""
