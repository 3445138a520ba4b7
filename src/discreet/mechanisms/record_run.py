"""The chain's loop with the sanitized records compiled in, cached like the rest of the kernel."""

from discreet.likelihood.jit import compiled
from discreet.likelihood.record_context import Context
from discreet.likelihood.record_kernel import sanitized_sums
from discreet.samplers.psgld import Setting, Span, State, begin_step, end_step


@compiled
def run_records(context: Context, setting: Setting, state: State, span: Span) -> None:
    """Steps of a chain on the sum of sanitized losses."""
    for step in range(span.steps):
        begin_step(setting, state)
        sanitized_sums(context, state.point, state.picks, state.mean)
        end_step(setting, state, span, step)
