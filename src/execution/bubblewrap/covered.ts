import type { ExecResult } from '../../core/execution.ts'
import { checkedOutput } from '../confinement/checked-output.ts'
import { watchCovers } from '../confinement/watch.ts'
import { coversOf } from './args.ts'
import { keepFiles, type Restoration } from './restore.ts'
import { runSandboxed, type SandboxedProgram } from './runner.ts'
import type { Report } from './script.ts'

interface CoveredRun {
  readonly result: ExecResult
  readonly report: Report
  /** What to say to the model. */
  readonly notes: readonly string[]
  readonly restorations: readonly Restoration[]
}

/**
 * Runs a program in a sandbox while its mounts are watched. If one goes because another program replaced what it covers, the
 * program is killed, and output that may contain a hidden file is withheld.
 */
export async function runCovered(program: Omit<SandboxedProgram, 'kill' | 'isCovered'>): Promise<CoveredRun> {
  const { layout, options } = program
  const { hidden, kept, pinned, absent } = coversOf(layout)
  const kill = new AbortController()
  const mounted = [...kept, ...pinned]
  const watch = await watchCovers([...hidden, ...mounted, ...absent], () => kill.abort(), mounted)
  const restorations = keepFiles(kept)
  const shown = (paths: readonly string[]): string[] => paths.filter((path) => hidden.includes(path))
  const reasonOf = (path: string): string => {
    if (absent.includes(path)) return `git would obey ${path} at once`
    const replaced = `${path} was replaced by another program while it ran`
    if (!hidden.includes(path)) return `${replaced} and could write it; run it again`
    return `${replaced}. Its output is withheld, as it may contain that file; run it again`
  }
  const output =
    options.onOutput && checkedOutput(options.onOutput, async () => shown(await watch.settled()).length === 0)
  try {
    const given = { ...options, ...(output && { onOutput: output.onOutput }) }
    const { result, report } = await runSandboxed({
      ...program,
      options: given,
      kill: kill.signal,
      isCovered: async () => (await watch.settled()).length === 0,
    })
    await output?.settled()
    const lost = await watch.settled()
    const ended = kill.signal.aborted ? { ...result, exitCode: null, signal: 'SIGKILL' } : result
    return {
      result: shown(lost).length > 0 ? { ...ended, stdout: '', stderr: '' } : ended,
      report,
      notes: lost.map((path) => `the command was ended: ${reasonOf(path)}`),
      restorations: restorations(lost),
    }
  } finally {
    watch.end()
  }
}
