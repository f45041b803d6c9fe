import type { Cron } from 'croner'

/** The first time after `after` that an expression matches; undefined where there is none. Throws on a bad expression. */
export type NextCron = (expression: string, timeZone: string | undefined, after: number) => number | undefined

type Croner = typeof import('croner')

let loading: Promise<Croner> | undefined

/** Reads cron expressions, with a package that is loaded by the first one. */
export async function loadCron(): Promise<NextCron> {
  loading ??= import('croner').catch((cause) => {
    loading = undefined
    throw new Error('cron schedules need the package croner, which is not installed; run npm install croner', { cause })
  })
  return cronWith(await loading)
}

/** Expressions are read once; so many are remembered. */
const mostRead = 1000

function cronWith({ Cron }: Croner): NextCron {
  const read = new Map<string, Cron>()
  return (expression, timeZone, after) => {
    const key = `${timeZone ?? ''} ${expression}`
    let cron = read.get(key)
    if (!cron) {
      const zone = timeZone !== undefined && { timezone: timeZone }
      cron = new Cron(expression, { paused: true, mode: '5-or-6-parts', ...zone })
      if (read.size >= mostRead) read.clear()
      read.set(key, cron)
    }
    return cron.nextRun(new Date(after))?.getTime()
  }
}
