/** How tests are marked, for `--tags-filter` of Vitest. */
export const tags = [
  {
    name: "gate",
    description: "Of those in OpenCode and of the pages, `npm test` runs these: one for each promise.",
  },
  { name: "nightly", description: "Takes long, and sees more of what others see: `npm test` leaves it out." },
];
