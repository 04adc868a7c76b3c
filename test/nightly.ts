/** True in `npm run nightly`, which plays at full size what `npm test` plays a part of. */
export const isNightly = process.env.NIGHTLY === "1";
