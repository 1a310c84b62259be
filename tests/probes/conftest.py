"""What several tests of tasks and of training share."""

import pytest


@pytest.fixture(scope="session")
def step_operators():
    """step_operators(training, batch): how many torch operators a step on `batch` examples runs, the second, which sets nothing up."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Count(TorchDispatchMode):
        """Counts torch operators."""

        count = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.count += 1
            return func(*args, **(kwargs or {}))

    def counted(training, batch):
        examples = training.data(0).examples(0, batch)
        training.step(examples, 0)
        with Count() as counter:
            training.step(examples, 1)
        return counter.count

    return counted
