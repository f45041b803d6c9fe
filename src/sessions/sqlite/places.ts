/** How many entries a session may have; a whole number of JavaScript then has room for 134 million sessions. */
const room = 2 ** 26

/** Where entry `seq` of a session is kept: sessions lie one behind the other, each with its entries in order. */
export function placeOf(session: number, seq: number): number {
  if (seq >= room) throw new RangeError(`A session cannot have more than ${room - 1} entries; start a new one`)
  return session * room + seq
}

/** The first place behind those of a session. */
export const endOf = (session: number): number => (session + 1) * room

/** Whose place it is. */
export const ownerOf = (place: number): { session: number; seq: number } => ({
  session: Math.floor(place / room),
  seq: place % room,
})
