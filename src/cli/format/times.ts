const two = (part: number): string => String(part).padStart(2, "0");

/** The local time of day of epoch milliseconds, to the millisecond. */
export const clockTime = (at: number): string => {
  const time = new Date(at);
  const day = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":");
  return `${day}.${String(time.getMilliseconds()).padStart(3, "0")}`;
};

/** The local date of epoch milliseconds, and how far the zone is from UTC. */
export const date = (at: number): string => {
  const time = new Date(at);
  const ahead = -time.getTimezoneOffset();
  const sign = ahead < 0 ? "-" : "+";
  const offset = `${sign}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`;
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}, UTC${ahead === 0 ? "" : offset}`;
};
