"""Makes the weights: corpora, examples, labels, training, evaluation, export. Imports compressor alone."""
