let last = 0

/** A UUID of version 7: ids that a process makes later are greater. */
export function orderedUuid(now: number): string {
  last = Math.max(last + 1, Math.floor(now) * 4096) // twelve bits count within a millisecond
  const time = Math.floor(last / 4096)
    .toString(16)
    .padStart(12, '0')
  const count = (last % 4096).toString(16).padStart(3, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${count}-${crypto.randomUUID().slice(19)}`
}
