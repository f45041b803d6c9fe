import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { notesOf } from './evidence.ts'
import { inParallel } from './lanes.ts'
import { readLedger } from './ledger.ts'
import type { Exit, Worker } from './processes.ts'
import type { StoreKind } from './stores.ts'
import { type Found, shown, Trial } from './trial.ts'
import { exits } from './worker-options.ts'

export interface RivalOptions {
  readonly kinds: readonly StoreKind[]
  readonly races: number
  readonly cache: string
  readonly lanes: number
  readonly progress?: (line: string) => void
}

export interface RivalResult {
  readonly races: number
  readonly processes: number
  readonly found: readonly Found[]
}

const sizes = [2, 3, 4, 6, 8, 12, 16]
const states = ['crashed', 'asked', 'new'] as const

/** Two to sixteen processes open one session at once: a new one, or one interrupted by a crash or a question. */
export async function rivals(options: RivalOptions): Promise<RivalResult> {
  const { kinds, races, lanes, progress } = options
  const found: Found[] = []
  let processes = 0
  await inParallel(
    Array.from({ length: races }, (_, i) => i),
    Math.min(lanes, 2),
    async (i) => {
      const size = sizes[i % sizes.length]!
      const kind = kinds[i % kinds.length]!
      const trial = new Trial({ ...options, kind, name: `race ${i} of ${size} processes` })
      await race(trial, { size, state: states[i % states.length]!, takesOver: i % 4 === 3 })
      processes += size
      found.push(...trial.found)
      trial.close()
      if ((i + 1) % 10 === 0) progress?.(`rivals: ${i + 1} of ${races} races`)
    },
  )
  return { races, processes, found }
}

interface Race {
  readonly size: number
  /** The session does not exist, its process died, or it waits for an answer. */
  readonly state: (typeof states)[number]
  /** A process takes the session from its writer. */
  readonly takesOver: boolean
}

async function race(trial: Trial, { size, state, takesOver }: Race): Promise<void> {
  const at = { name: 'effect.after:send', hit: 1, signal: 'SIGKILL' } as const
  if (state !== 'new') await trial.run(state === 'asked' ? { answers: false } : { at })
  await trial.check('before the race')

  const hold = join(trial.folder, 'go')
  const [writers, others]: [Worker[], Worker[]] = [[], []]
  for (let i = 0; i < size; i++) {
    if (i % 4 < 2) writers.push(trial.start({ hold, ownPrompt: i % 2 === 1 }))
    else others.push(trial.start({ role: i % 4 === 2 ? 'steer' : 'answer' }))
  }
  const lost = await allButOne(writers)
  if (!lost) trial.report({ id: 'I6', what: 'more than one process writes' }, 'in the race')
  for (const { writer, exit } of lost ?? [])
    if (exit.code !== exits.busy)
      trial.report({ id: 'I6', what: `rival ${writer} ended by ${shown(exit)}` }, 'in the race')
  for (const other of others) {
    const exit = await other.ended
    if (exit.code !== exits.done)
      trial.report({ id: 'I1', what: `a message could not be left: ${shown(exit)}` }, 'in the race')
  }
  await trial.check('while one of them writes')

  const holder = writers.find((worker) => !worker.isOver())
  const taker = takesOver ? trial.start({ takeOver: true }) : undefined
  if (taker) await taker.ended
  writeFileSync(hold, '')
  const exit = await holder?.ended
  const ends: readonly (number | null | undefined)[] = taker ? [exits.leaseLost] : [exits.done, exits.suspended]
  // A process that leaves the first message of a new session holds it for a moment: all writers may be refused then.
  const wanted = state === 'new' && others.length > 0 ? [...ends, exits.busy] : ends
  if (exit && !wanted.includes(exit.code))
    trial.report({ id: 'I6', what: `the process that wrote ended by ${shown(exit)}` }, 'after the race')
  await trial.check('after the race')
  checkNames(trial)
  await trial.finish()
}

/** Waits until only one of them runs. Undefined if that does not happen. */
async function allButOne(workers: readonly Worker[]): Promise<{ writer: string; exit: Exit }[] | undefined> {
  const over: { writer: string; exit: Exit }[] = []
  const ended = new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, 50_000, false)
    for (const { writer, ended } of workers)
      void ended.then((exit) => {
        over.push({ writer, exit })
        if (over.length < workers.length - 1) return
        clearTimeout(timer)
        resolve(true)
      })
  })
  return (await ended) ? [...over] : undefined
}

/** The error of a refused process names the writer. */
function checkNames(trial: Trial): void {
  const notes = readLedger(trial.folder)
  const holders = new Set(notesOf(notes, 'lease').map(({ writer }) => writer))
  for (const { writer, error, owner } of notesOf(notes, 'refused')) {
    const name = owner?.split('#')[0]
    if (name === undefined || !holders.has(name) || name === writer)
      trial.report(
        { id: 'I6', what: `${writer} was refused (${error}) and told that ${owner} writes` },
        'after the race',
      )
  }
}
