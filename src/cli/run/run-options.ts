import type { RunOptions } from '../../core/run.ts'
import type { RunValues } from '../commands/run.ts'
import type { OpenedAgent } from './open-agent.ts'

/** What one run takes of the flags. */
export async function runOptions(
  values: RunValues,
  prompt: string | undefined,
  { chosen, thinking }: OpenedAgent,
  cwd: string,
): Promise<RunOptions> {
  const pictures = values.context === 'docker' ? [] : (values.image ?? [])
  const images = pictures.length === 0 ? [] : await (await import('./attachments.ts')).readImages(pictures, cwd)
  return {
    model: chosen.model,
    ...(prompt !== undefined && { prompt }),
    ...(images.length > 0 && { images }),
    ...(thinking !== undefined && { thinking }),
  }
}
