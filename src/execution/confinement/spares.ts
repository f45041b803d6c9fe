import type { SandboxShell } from './sandbox-shell.ts'

/** Finished sandboxes that wait for a command, so that it need not wait for its sandbox. */
export interface Spares {
  /** A sandbox of this kind: a waiting one, or a new one. Then builds another one of the kind, to wait for the next command. */
  take(kind: string, build: () => Promise<SandboxShell>): Promise<TakenShell>
  /** Ends all that wait. */
  end(): Promise<void>
}

interface TakenShell {
  readonly shell: SandboxShell
  /** The command has ended: now the next sandbox is built, if it was not yet. */
  release(): void
}

/** Of different kinds. A command with further readable files must not cost the next one without them its spare. */
const mostKinds = 2
const idleMs = 5 * 60_000
/** A command that takes longer than this is not slowed down at its start by the building of the next sandbox. */
const laterMs = 50

export function createSpares(): Spares {
  const waiting = new Map<string, Spare>()
  let isEnded = false

  function remove(kind: string): Promise<void> {
    const spare = waiting.get(kind)
    waiting.delete(kind)
    clearTimeout(spare?.idle)
    return spare?.shell.then((shell) => shell.discard()).catch(() => {}) ?? Promise.resolve()
  }

  function prepare(kind: string, build: () => Promise<SandboxShell>): void {
    if (isEnded || waiting.has(kind)) return
    const shell = build()
    shell.catch(() => remove(kind)) // the next command builds its own, and tells the reason
    const idle = setTimeout(remove, idleMs, kind)
    idle.unref()
    waiting.set(kind, { shell, idle })
    const [oldest] = waiting.keys()
    if (waiting.size > mostKinds && oldest !== undefined) void remove(oldest)
  }

  async function waitingShell(kind: string): Promise<SandboxShell | undefined> {
    const spare = waiting.get(kind)
    waiting.delete(kind)
    clearTimeout(spare?.idle)
    const shell = await spare?.shell.catch(() => undefined)
    if (shell?.isWaiting()) return shell
    await shell?.discard()
    return undefined
  }

  return {
    async take(kind, build) {
      const shell = (await waitingShell(kind)) ?? (await build())
      const later = setTimeout(prepare, laterMs, kind, build)
      later.unref()
      return {
        shell,
        release() {
          clearTimeout(later)
          // To start a process takes some milliseconds, for which the result need not wait.
          setImmediate(prepare, kind, build)
        },
      }
    },

    async end() {
      isEnded = true
      await Promise.all([...waiting.keys()].map(remove))
    },
  }
}

interface Spare {
  readonly shell: Promise<SandboxShell>
  readonly idle: NodeJS.Timeout
}
