import type { Cron } from 'croner'

/** The first match of an expression after a time; undefined if there is none. Throws on an invalid expression. */
export type NextCron = (expression: string, timeZone: string | undefined, after: number) => number | undefined

type Croner = typeof import('croner')

let loading: Promise<Croner> | undefined

/** Loads the package for cron expressions on first use. */
export async function loadCron(): Promise<NextCron> {
  loading ??= import('croner').catch((cause) => {
    loading = undefined
    throw new Error('cron schedules need the package croner, which is not installed; run npm install croner', { cause })
  })
  return cronWith(await loading)
}

/** Parsed expressions are cached, at most this number. */
const maxCached = 1000

function cronWith({ Cron }: Croner): NextCron {
  const read = new Map<string, Cron>()
  return (expression, timeZone, after) => {
    const key = `${timeZone ?? ''} ${expression}`
    let cron = read.get(key)
    if (!cron) {
      const zone = timeZone !== undefined && { timezone: timeZone }
      cron = new Cron(expression, { paused: true, mode: '5-or-6-parts', ...zone })
      if (read.size >= maxCached) read.clear()
      read.set(key, cron)
    }
    return cron.nextRun(new Date(after))?.getTime()
  }
}
