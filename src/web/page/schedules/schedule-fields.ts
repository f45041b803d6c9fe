import type { RemoteActiveHours, RemoteScheduleTime } from '../libero.ts'

export const ownTimeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

type FieldText = (name: string) => string

/** When a schedule runs, as the fields of the form say. What they do not show, such as a time zone, stays as it was before. */
export function timeIn(
  type: RemoteScheduleTime['type'],
  text: FieldText,
  before?: RemoteScheduleTime,
): RemoteScheduleTime {
  const same = before?.type === type ? before : undefined
  if (type === 'interval') return { ...same, type, everySeconds: Math.round(Number(text('minutes')) * 60) }
  if (type === 'cron') return { ...(same ?? { timeZone: ownTimeZone }), type, expression: text('cron') }
  const isUnchanged = same?.type === 'at' && localTime(same.at) === text('at')
  return { ...same, type, at: isUnchanged ? same.at : new Date(text('at')).toISOString() }
}

/** The hours in which it runs; undefined for all. */
export function hoursIn(text: FieldText, before?: RemoteActiveHours): RemoteActiveHours | undefined {
  const hour = (name: 'from' | 'to'): string => {
    const kept = before?.[name]
    return kept !== undefined && clockTime(kept) === text(name) ? kept : text(name)
  }
  const [from, to] = [hour('from'), hour('to')]
  return from === '' || to === '' ? undefined : { ...(before ?? { timeZone: ownTimeZone }), from, to }
}

/** As an input of type `time` takes it: the end of a day is the beginning of the next one. */
export const clockTime = (hour = ''): string => (hour === '24:00' ? '00:00' : hour)

/** As an input of type `datetime-local` takes it: without seconds. */
export function localTime(at: string): string {
  const date = new Date(at)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
