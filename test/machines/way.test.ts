import { expect, test } from "vitest";
import { apartFrom, type Move, wayOf } from "../../src/machines/way.ts";

/** A move from one state to another, through a transition of that name; the first one has none. */
const from = (left: string, entered: string, through?: string): Move => {
  const states = { left: left === "" ? [] : [left], entered: [entered] };
  const reached = through === undefined ? [] : apartFrom(states.entered, states.left);
  return { ...states, through: Object.fromEntries(reached.map((state) => [state, through ?? ""])) };
};

test("a state that was left is passed, with the states around it, until it is entered again", () => {
  const moves = [
    from("", "run.queued"),
    from("run.queued", "run.prompting.sending", "granted"),
    from("run.prompting.sending", "run.working.busy", "accepted"),
  ];
  expect(wayOf(moves)).toEqual({
    passed: ["run.queued", "run.prompting.sending", "run.prompting"],
    arrivals: { "run.working.busy": "accepted", "run.working": "accepted" },
  });
  const again = [...moves, from("run.working.busy", "run.prompting.sending", "repaired")];
  expect(wayOf(again).passed).toEqual(["run.queued", "run.working.busy", "run.working"]);
});

test("a group of states keeps the transition by which it was entered, whatever happens inside", () => {
  const moves = [from("run.queued", "run.working.busy", "in"), from("run.working.busy", "run.working.retrying", "on")];
  expect(wayOf(moves)).toEqual({
    passed: ["run.queued", "run.working.busy"],
    arrivals: { "run.working": "in", "run.working.retrying": "on" },
  });
});

test.each(["run.idle", "delivery.idle"])("a way begins anew where %s is left", (idle) => {
  const [region = ""] = idle.split(".");
  const moves = [from("", `${region}.one`), from(`${region}.one`, idle, "ends"), from(idle, `${region}.two`, "begins")];
  expect(wayOf(moves)).toEqual({ passed: [], arrivals: { [`${region}.two`]: "begins" } });
});

test("of what began before the first known step, only what was left is known", () => {
  expect(wayOf([from("preparing.waiting", "preparing.creating.requesting", "turn")])).toEqual({
    passed: ["preparing.waiting"],
    arrivals: { "preparing.creating.requesting": "turn", "preparing.creating": "turn" },
  });
});
