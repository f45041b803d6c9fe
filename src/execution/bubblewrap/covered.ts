import type { ExecResult } from '../../core/execution.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { checkedOutput } from '../confinement/checked-output.ts'
import { watchCovers } from '../confinement/watch.ts'
import { coversOf } from './args.ts'
import { changedSince } from './changed-files.ts'
import { isInside } from './protected-paths.ts'
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
 * program is killed, and output that may contain a hidden file is withheld. Until it is dead it may have read that file, and
 * kept what it read: so it is said what changed meanwhile.
 */
export async function runCovered(program: Omit<SandboxedProgram, 'kill' | 'isCovered'>): Promise<CoveredRun> {
  const { layout, options } = program
  const since = Date.now()
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
    const isShown = shown(lost).length > 0
    const copies = isShown ? await noteOnCopies(program, since) : []
    return {
      result: isShown ? { ...ended, stdout: '', stderr: '' } : ended,
      report,
      notes: [...copies, ...lost.map((path) => `the command was ended: ${reasonOf(path)}`)],
      restorations: restorations(lost),
    }
  } finally {
    watch.end()
  }
}

const mostNamed = 20

/** What the command may have left of a hidden file. */
async function noteOnCopies({ layout }: Pick<SandboxedProgram, 'layout'>, since: number): Promise<string[]> {
  const { written, mounted } = coversOf(layout)
  // The person replaced what is covered, and bubblewrap makes folders to mount on.
  const isOurs = (path: string, isFolder: boolean): boolean =>
    mounted.some((one) => (isFolder ? isInside(path, one) : path === one))
  const { paths, isPartial } = await changedSince({ folders: written, since, isOurs })
  const temporary = layout.temporaryAt.length > 0 ? ['/tmp'] : []
  const places = [...paths.slice(0, mostNamed).map((path) => fullyVisible(path)), ...temporary]
  if (places.length === 0 && !isPartial) return []
  const further = [
    ...(paths.length > mostNamed ? [`${paths.length - mostNamed} more`] : []),
    ...(isPartial ? ['what was not looked at, because there is too much'] : []),
  ]
  const where = [...places, ...further].join(', ')
  return [
    `what was hidden could be read for a moment, and this was or may have been written meanwhile: ${where}. Do not read it: a person should look whether it holds a copy, and remove that`,
  ]
}
