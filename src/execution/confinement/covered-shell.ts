import { coversOf } from '../bubblewrap/args.ts'
import { checkedOutput } from './checked-output.ts'
import { type SandboxShell, type ShellOptions, startSandboxShell } from './sandbox-shell.ts'
import { watchCovers } from './watch.ts'

/**
 * A sandbox whose hidden files are watched. If another program replaces one, the mount over it is gone: then it takes no
 * command any more, and of a command that is running it the output is withheld.
 */
export async function startCoveredShell(options: ShellOptions): Promise<SandboxShell> {
  const { hidden } = coversOf(options.layout)
  if (hidden.length === 0) return startSandboxShell(options)
  const shown = new AbortController()
  const watch = await watchCovers(hidden, () => shown.abort())
  const shell = await startSandboxShell(options).catch((error) => {
    watch.end()
    throw error
  })
  return {
    isWaiting: () => shell.isWaiting() && watch.lost().length === 0,
    discard() {
      watch.end()
      return shell.discard()
    },
    async run(command, { onOutput, ...given }) {
      const output = onOutput && checkedOutput(onOutput, async () => (await watch.settled()).length === 0)
      const signals = given.signal ? [given.signal, shown.signal] : [shown.signal]
      const listening = output && { onOutput: output.onOutput }
      try {
        const ran = await shell.run(command, { ...given, signal: AbortSignal.any(signals), ...listening })
        await output?.settled()
        const [path] = await watch.settled()
        if (path === undefined) return ran
        const note = `[sandbox] ${path} was replaced by another program while the command ran. Its output is withheld, as it may contain that file; run it again\n`
        onOutput?.(note, 'stderr')
        return { result: { stdout: '', stderr: onOutput ? '' : note, exitCode: null }, report: ran.report }
      } finally {
        watch.end()
      }
    },
  }
}
