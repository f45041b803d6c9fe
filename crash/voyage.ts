import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, snapshotOf } from './checker.ts'
import type { Snapshot, Violation } from './evidence.ts'
import { gather } from './gather.ts'
import { type Exit, startWorld, type World } from './processes.ts'
import type { StoreKind } from './stores.ts'
import { exits, type WorldOptions } from './world-options.ts'

/** What a voyage is about. */
export interface VoyageOptions {
  readonly kind: StoreKind
  /** For people: what is tried here. */
  readonly name: string
  readonly plan?: number
  readonly mutant?: string
  /** Where compiled code is kept between processes. */
  readonly cache: string
}

export interface Found extends Violation {
  readonly voyage: string
  readonly folder: string
  /** Right after a crash, or at the end. */
  readonly when: string
}

/** Removed at the end, also if this process is ended. */
const unfinished = new Set<string>()
process.on('exit', () => {
  for (const folder of unfinished) rmSync(folder, { recursive: true, force: true })
})

/** One session in a folder of its own, over all its processes, and what the checks found. */
export class Voyage {
  readonly options: VoyageOptions
  readonly folder: string
  readonly found: Found[] = []
  #earlier: Snapshot | undefined
  #processes = 0

  constructor(options: VoyageOptions) {
    this.options = options
    this.folder = mkdtempSync(join(tmpdir(), 'libero-crash-'))
    unfinished.add(this.folder)
    mkdirSync(join(this.folder, 'effects'))
  }

  /** Starts a process that goes on with the session. */
  start(more: Partial<WorldOptions> = {}): World {
    const { kind, plan = 0, cache, mutant } = this.options
    const writer = `w${++this.#processes}`
    const { folder } = this
    const world = { kind, folder, writer, plan, answers: true, ...more }
    return startWorld(world, { cache, ...(mutant !== undefined && { mutant }) })
  }

  async run(more: Partial<WorldOptions> = {}): Promise<Exit> {
    const exit = await this.start(more).ended
    if (exit.isHung) this.report({ id: 'I8', what: `a process hangs: ${shown(exit)}` }, 'on the way')
    return exit
  }

  /** Whether all promises are kept, as things are now. */
  async check(when: string, isDone = false): Promise<boolean> {
    const { kind } = this.options
    const evidence = await gather(kind, this.folder, { isDone, earlier: this.#earlier })
    const before = this.found.length
    for (const violation of check(evidence)) this.report(violation, when)
    this.#earlier = snapshotOf(evidence)
    return this.found.length === before
  }

  report(violation: Violation, when: string): void {
    const { name, kind } = this.options
    this.found.push({ ...violation, when, voyage: `${name} on ${kind}`, folder: this.folder })
  }

  /** Goes on until everything is done, and checks once more. */
  async finish(more: Partial<WorldOptions> = {}): Promise<void> {
    let unparks = false
    for (let tries = 0; tries < 6; tries++) {
      const exit = await this.run({ ...more, unparks })
      if (exit.code === exits.done) {
        if (tries === 0 && (await this.#isSpokenTo())) continue
        await this.check('at the end', true)
        return
      }
      unparks = exit.code === exits.parked
      if (unparks || exit.code === exits.storeBusy) continue
      this.report({ id: 'I8', what: `the session cannot be gone on with: ${shown(exit)}` }, 'at the end')
      return
    }
    this.report({ id: 'I8', what: 'the session comes to no end' }, 'at the end')
  }

  /** What comes in the last moment of a run waits for the next one, which has to take it: once is enough. */
  async #isSpokenTo(): Promise<boolean> {
    const { waiting } = await gather(this.options.kind, this.folder, { isDone: true, earlier: this.#earlier })
    return waiting.some(({ mode }) => mode !== 'answer')
  }

  /** A folder with something to look at stays. */
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
