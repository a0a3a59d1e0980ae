"""Rules that do harm where a text asks for it; worker processes import them by name."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterable

from compressor.protection import View
from compressor.structure import Range


def kill_the_worker(view: View) -> Iterable[Range]:
    """Ends its process as the system does when memory runs out; only a worker process."""
    if "poison" in view.text and multiprocessing.parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return ()


def kill_the_worker_once(view: View) -> Iterable[Range]:
    """As above, but only while the file named in the text does not exist, which it makes."""
    if "poison:" in view.text and multiprocessing.parent_process() is not None:
        mark = view.text.split("poison:")[1].split()[0]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
    return ()


def take_time(view: View) -> Iterable[Range]:
    """Takes 20 ms a turn."""
    time.sleep(0.02)
    return ()
