import { expect, test } from "vitest";
import { withEventDescriptions } from "../../src/machines/chart.ts";

test("each transition says what its event means, and then what it itself does", () => {
  const chart = {
    id: "door",
    description: "A door.",
    on: { BROKEN: ".shut" },
    states: {
      open: {
        description: "Anybody comes in.",
        on: { PUSHED: [{ guard: "strongly", target: "shut", description: "It slams." }, "shut"] },
      },
      shut: {
        description: "Nobody comes in.",
        states: { locked: { description: "A key is needed.", on: { TURNED: { target: "#open" } } } },
      },
    },
  };
  const meanings = { BROKEN: "It broke.", PUSHED: "It was pushed.", TURNED: "The key turned." };
  expect(withEventDescriptions(meanings, chart)).toStrictEqual({
    id: "door",
    description: "A door.",
    on: { BROKEN: { target: ".shut", description: "It broke." } },
    states: {
      open: {
        description: "Anybody comes in.",
        on: {
          PUSHED: [
            { guard: "strongly", target: "shut", description: "It was pushed. It slams." },
            { target: "shut", description: "It was pushed." },
          ],
        },
      },
      shut: {
        description: "Nobody comes in.",
        states: {
          locked: {
            description: "A key is needed.",
            on: { TURNED: { target: "#open", description: "The key turned." } },
          },
        },
      },
    },
  });
});
