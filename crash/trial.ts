import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, snapshotOf } from './checker.ts'
import type { Snapshot, Violation } from './evidence.ts'
import { gather } from './gather.ts'
import { type Exit, startWorker, type Worker } from './processes.ts'
import type { StoreKind } from './stores.ts'
import { exits, type WorkerOptions } from './worker-options.ts'

export interface TrialOptions {
  readonly kind: StoreKind
  /** Describes the trial. */
  readonly name: string
  readonly plan?: number
  readonly mutant?: string
  /** The cache for compiled code. */
  readonly cache: string
}

export interface Found extends Violation {
  readonly trial: string
  readonly folder: string
  /** Right after a crash, or at the end. */
  readonly when: string
}

/** Removed at the end, also if this process is ended. */
const unfinished = new Set<string>()
process.on('exit', () => {
  for (const folder of unfinished) rmSync(folder, { recursive: true, force: true })
})

/** One session in its own folder, over all its processes, with the violations that were found. */
export class Trial {
  readonly options: TrialOptions
  readonly folder: string
  readonly found: Found[] = []
  #earlier: Snapshot | undefined
  #processes = 0
  readonly #workers = new Set<Worker>()

  constructor(options: TrialOptions) {
    this.options = options
    this.folder = mkdtempSync(join(tmpdir(), 'libero-crash-'))
    unfinished.add(this.folder)
    mkdirSync(join(this.folder, 'effects'))
  }

  /** Starts a process that works on the session. */
  start(more: Partial<WorkerOptions> = {}): Worker {
    const { kind, plan = 0, cache, mutant } = this.options
    const writer = `w${++this.#processes}`
    const { folder } = this
    const worker = { kind, folder, writer, plan, answers: true, ...more }
    const started = startWorker(worker, { cache, ...(mutant !== undefined && { mutant }) })
    this.#workers.add(started)
    void started.ended.finally(() => this.#workers.delete(started))
    return started
  }

  async run(more: Partial<WorkerOptions> = {}): Promise<Exit> {
    const exit = await this.start(more).ended
    if (exit.isHung) this.report({ id: 'I8', what: `a process hangs: ${shown(exit)}` }, 'meanwhile')
    return exit
  }

  /** Checks all guarantees in the present state. */
  async check(when: string, isDone = false): Promise<boolean> {
    const { kind } = this.options
    const isQuiet = this.#workers.size === 0
    const evidence = await gather(kind, this.folder, { isDone, isQuiet, earlier: this.#earlier })
    const before = this.found.length
    for (const violation of check(evidence)) this.report(violation, when)
    this.#earlier = snapshotOf(evidence)
    return this.found.length === before
  }

  report(violation: Violation, when: string): void {
    const { name, kind } = this.options
    this.found.push({ ...violation, when, trial: `${name} on ${kind}`, folder: this.folder })
  }

  /** Runs until everything is done, and checks again. */
  async finish(more: Partial<WorkerOptions> = {}): Promise<void> {
    let unparks = false
    for (let tries = 0; tries < 6; tries++) {
      const exit = await this.run({ ...more, unparks })
      if (exit.code === exits.done) {
        if (tries === 0 && (await this.#hasMessages())) continue
        await this.check('at the end', true)
        return
      }
      unparks = exit.code === exits.parked
      if (unparks || exit.code === exits.storeBusy) continue
      this.report({ id: 'I8', what: `the session cannot be resumed: ${shown(exit)}` }, 'at the end')
      return
    }
    this.report({ id: 'I8', what: 'the session does not end' }, 'at the end')
  }

  /** A message that comes at the end of a run is delivered by the next run. */
  async #hasMessages(): Promise<boolean> {
    const { waiting } = await gather(this.options.kind, this.folder, {
      isDone: true,
      isQuiet: true,
      earlier: this.#earlier,
    })
    return waiting.some(({ mode }) => mode !== 'answer')
  }

  /** Keeps the folder if there are violations to inspect. */
  close(): void {
    unfinished.delete(this.folder)
    if (this.found.length === 0 || this.options.mutant !== undefined)
      rmSync(this.folder, { recursive: true, force: true })
  }
}

export function shown({ code, signal, stderr }: Exit): string {
  const lines = stderr.trim().split('\n').slice(0, 6).join(' | ')
  return `${signal ?? `exit code ${code}`}${lines && `: ${lines}`}`
}
