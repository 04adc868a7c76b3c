import { type OwnText, own, vouchFor } from "./own-text.ts";

/** The least amount above zero that is written as a number. */
const LEAST = 0.0001;

const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const fractions = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });

/**
 * Writes US dollars, such as `$1,234.50`: to the cent, and below one dollar with up to four digits after the point, since
 * tasks often cost less than a cent. Above zero it never writes zero: `under $0.0001`.
 */
export const dollars = (amount: number): OwnText => {
  if (amount > 0 && amount < LEAST) return own`under $${LEAST}`;
  return vouchFor(`$${(amount < 1 ? fractions : cents).format(amount)}`);
};
