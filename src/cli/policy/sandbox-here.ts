import type { SandboxSupport } from '../../core/execution.ts'
import { createProcessContext } from '../../execution/process.ts'
import type { Config } from '../config/config.ts'

/** The sandboxes for commands in a folder of this machine, tried as a run does. */
export async function sandboxHere(cwd: string, setting: Config['sandbox']): Promise<SandboxSupport> {
  const context = createProcessContext({ cwd, sandbox: setting === 'off' ? 'off' : 'auto' })
  const handle = await context.spawn()
  try {
    return (await context.sandbox?.(handle)) ?? { profiles: [] }
  } finally {
    await context.destroy(handle)
  }
}
