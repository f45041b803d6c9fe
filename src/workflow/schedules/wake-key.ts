/** What a wake-up is known by in the inbox of its agent. */
export const wakeKey = (scheduleId: string, dueAt: number): string => `schedule:${scheduleId}:${dueAt}`

/** Whether a message is a wake-up of the same schedule for another time. What is sent again has marks at its end. */
export function isOtherWake(clientKey: string, { scheduleId, dueAt }: { scheduleId: string; dueAt: number }): boolean {
  const prefix = wakeKey(scheduleId, 0).slice(0, -1)
  const [time = ''] = clientKey.startsWith(prefix) ? clientKey.slice(prefix.length).split('~') : []
  return /^-?\d+$/.test(time) && time !== String(dueAt)
}
