import type { ExecutionContext } from '../../core/execution.ts'
import { createProcessContext } from '../../execution/process.ts'
import { UsageError } from '../cli-error.ts'
import type { RunValues } from '../commands/run.ts'
import type { Config } from '../config/config.ts'

/** Where tools run. A container or a sandbox that flags or settings ask for is there, or this throws. */
export async function executionOf(
  flags: Pick<RunValues, 'context' | 'sandbox' | 'image'>,
  config: Config,
  cwd: string,
): Promise<ExecutionContext> {
  const context = flags.context ?? config.context ?? 'process'
  if (context === 'docker') {
    const image = flags.image?.[0] ?? config.image
    if (image === undefined)
      throw new UsageError(
        'the context "docker" needs an image: add --image node:24, or run: libero config set image node:24',
      )
    return (await import('../../execution/docker.ts')).createDockerContext({ image, cwd })
  }
  if (flags.sandbox ?? config.sandbox) {
    // A missing program is reported now, before a model is asked and a tool fails.
    await (await import('../../execution/bubblewrap/check.ts')).findBubblewrap(undefined, [cwd])
    return (await import('../../execution/bubblewrap.ts')).createBubblewrapContext({ cwd })
  }
  return createProcessContext({ cwd })
}
