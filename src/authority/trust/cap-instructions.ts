import type { Instructions } from './instructions.ts'

/** How much all instructions together may say, in bytes. */
export const mostInstructions = 32 * 1024

/**
 * Root-first instructions, no more than a model should be told. The user's own are kept first, so that no project can push
 * them out; then the nearest ones, whole; the farther ones are cut, and say so at their end.
 */
export function capInstructions(
  given: readonly Instructions[],
  limit: number = mostInstructions,
): readonly Instructions[] {
  const kept = new Map<Instructions, Instructions>()
  let room = limit
  for (const one of [...given.filter(({ isOwn }) => isOwn), ...given.filter(({ isOwn }) => !isOwn).reverse()]) {
    const bytes = Buffer.from(one.text)
    kept.set(one, bytes.length <= room ? one : cut(one, bytes, room, limit))
    room -= Math.min(room, bytes.length)
  }
  return given.map((one) => kept.get(one)!)
}

/** Between two characters, never inside of one. */
function cut(one: Instructions, bytes: Uint8Array, room: number, limit: number): Instructions {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, room), { stream: true })
  const left = bytes.length - Buffer.byteLength(text)
  const mark = `[${left} bytes of this file are left out: all instructions together may have ${limit} bytes]`
  return { ...one, text: text === '' ? mark : `${text}\n${mark}`, left }
}
