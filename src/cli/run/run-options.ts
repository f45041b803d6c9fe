import type { RunOptions } from '../../core/run.ts'
import type { ImageBlock } from '../../core/turn.ts'
import type { RunValues } from '../commands/run.ts'
import type { OpenedAgent } from './open-agent.ts'

/** What one run takes of the flags. */
export async function runOptions(
  values: RunValues,
  prompt: string | undefined,
  { chosen, thinking }: OpenedAgent,
  cwd: string,
): Promise<RunOptions> {
  const images = await picturesOf(values, cwd)
  return {
    model: chosen.model,
    ...(prompt !== undefined && { prompt }),
    ...(images.length > 0 && { images }),
    ...(thinking !== undefined && { thinking }),
  }
}

/** Whether a session is gone on with. */
export const isGoingOn = ({ resume, continue: goesOn }: RunValues): boolean => resume !== undefined || goesOn === true

/** The pictures that the model is to look at. */
export async function picturesOf({ context, image: named }: RunValues, cwd: string): Promise<ImageBlock[]> {
  if (context === 'docker' || named === undefined) return []
  return (await import('./attachments.ts')).readImages(named, cwd)
}
