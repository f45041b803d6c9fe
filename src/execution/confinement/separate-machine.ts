import { type Confinement, type ExecResult, noSandbox } from '../../core/execution.ts'

/**
 * Runs a command in a container or on another machine. It has no secrets of this one, so it serves as the sandbox
 * `workspace-write`, with the paths and the network that it has. Nothing there keeps commands from writing, and nothing is hidden or protected:
 * the authority goes by the words of a line, as it does where there is no `read-only`.
 */
export async function runOnSeparateMachine(
  type: string,
  confinement: Confinement | undefined,
  run: () => Promise<ExecResult>,
): Promise<ExecResult> {
  if (!confinement) return run()
  const { profile } = confinement
  if (profile === 'read-only') throw noSandbox(type, profile, 'its commands can always write')
  return { ...(await run()), sandbox: { profile } }
}
