"""The circuit on a time line: when it opens, whom it lets through, and how soon it closes."""

from adapter.circuit import Circuit, Gate
from adapter.core.reasons import Missing, Reason

DOWN = Missing(Reason.UPSTREAM_ERROR, "p answered 503")
SLOW = Missing(Reason.UPSTREAM_TIMEOUT, "p did not answer within 10 s")
REFUSED = Missing(Reason.UPSTREAM_REJECTED, "p answered 400")


class World:
    """A circuit and its clock."""

    def __init__(self) -> None:
        self.time = 0.0
        self.circuit = Circuit(lambda: self.time)

    def fails(self, *questions: str, failure: Missing = DOWN) -> None:
        for question in questions:
            self.circuit.record(question, failure)

    def gates(self, *questions: str) -> list[Gate]:
        return [self.circuit.gate(question) for question in questions]


def opened() -> World:
    world = World()
    world.fails("a", "b", "c", "d", "e")
    return world


def test_five_failures_in_a_row_open_it_and_four_do_not() -> None:
    world = World()
    world.fails("a", "b", "a", "b")
    assert world.gates("a") == [Gate.ASK]
    world.fails("a")
    assert world.gates("a") == [Gate.REFUSED]


def test_what_is_refused_is_told_with_the_reason_of_the_last_failure() -> None:
    world = World()
    world.fails("a", "b", "c", "d")
    world.fails("e", failure=SLOW)
    refusal = world.circuit.refusal()
    assert refusal.reason is Reason.UPSTREAM_TIMEOUT
    assert refusal.message == (
        "not asked for 1.0 s after 5 failures in a row (circuit open): p did not answer within 10 s"
    )


def test_answers_that_refuse_a_query_are_answers() -> None:
    world = World()
    world.fails(*"abcdefgh", failure=REFUSED)
    assert world.gates("a") == [Gate.ASK]


def test_one_policys_hopeless_queries_never_bar_a_question_that_goes_well() -> None:
    world = World()
    world.circuit.record("good", None)
    for _ in range(8):  # two minutes of a tick each 15 s, in which the other is asked once a minute
        world.fails(*"abcdefgh", failure=SLOW)
        assert world.gates("good", "a") == [Gate.ASK, Gate.ASK]
        world.time += 14
    # Once it fails too, nothing is known to go well.
    world.fails("good")
    assert world.circuit.is_open


def test_pauses_double_up_to_ten_seconds() -> None:
    world = opened()
    pauses = []
    for _ in range(6):
        start = world.time
        while world.gates("a") == [Gate.REFUSED]:
            world.time += 0.5
        pauses.append(world.time - start)
        world.fails("a")
    assert pauses == [1, 2, 4, 8, 10, 10]


def test_few_probes_go_at_once_each_another_question_and_the_others_wait() -> None:
    world = opened()
    world.time = 1.0
    assert world.gates("a", "a", "b", "c", "d", "e") == [
        Gate.PROBE,
        Gate.WAIT,
        Gate.PROBE,
        Gate.PROBE,
        Gate.PROBE,
        Gate.WAIT,
    ]


def test_the_first_probe_that_goes_well_closes_it_for_all() -> None:
    world = opened()
    world.time = 1.0
    world.gates("a", "b", "c")
    world.circuit.record("b", None)
    assert world.gates("a", "c", "e") == [Gate.ASK] * 3
    # A probe that fails afterwards is one failure of five, and not the end.
    world.fails("a", "c")
    assert not world.circuit.is_open


def test_it_opens_again_when_all_probes_have_failed() -> None:
    world = opened()
    world.time = 1.0
    world.gates("a", "b")
    world.fails("a")
    assert world.gates("e") == [Gate.PROBE]
    world.fails("b", "e")
    assert world.gates("e") == [Gate.REFUSED]


def test_questions_that_hang_do_not_take_the_probes_from_one_that_would_go_well() -> None:
    world = opened()
    for pause in (1, 2):
        world.time += pause
        assert world.gates("a", "b", "c", "d") == [Gate.PROBE] + [Gate.WAIT if pause == 2 else Gate.PROBE] * 3
        if pause == 1:
            world.fails("a", "b", "c", "d", failure=SLOW)
    # In the second round the three that hung before wait, so that another has its turn.
    assert world.gates("good") == [Gate.PROBE]


def test_a_probe_that_comes_to_nothing_makes_room() -> None:
    world = opened()
    world.time = 1.0
    assert world.gates("a", "a") == [Gate.PROBE, Gate.WAIT]
    world.circuit.let_go("a")
    assert world.gates("a") == [Gate.PROBE]


def test_a_good_answer_of_an_earlier_question_closes_it_at_once() -> None:
    world = opened()
    world.circuit.record("asked before", None)
    assert world.gates("a") == [Gate.ASK]
