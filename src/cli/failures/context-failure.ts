import { messageOf } from '../../core/errors.ts'
import type { Explaining } from '../explain-failure.ts'

/** The place where tools should run is not there: bubblewrap or Docker. They say themselves how to install them. */
export function explainContext(error: unknown, { foreign }: Explaining): string | undefined {
  const message = messageOf(error)
  if (
    /^There is no \S*bwrap\b|^\S*bwrap has version|^The bubblewrap context |^The sandbox could not be built/.test(
      message,
    )
  )
    return `--sandbox cannot be used here: ${foreign(message.replace(' Nothing was run.', '').replace(', and nothing was run', ''))}; or leave out --sandbox`
  if (/^A Docker context needs the package|^Docker (?:could not|does not)|^There is no image /.test(message))
    return `--context docker cannot be used here: ${foreign(message.replace(/^Docker could not .*?: (?=Docker )/, '').replace(/, or say where it is: createDockerContext\(.*?\), or DOCKER_HOST/, ', or say where it is with DOCKER_HOST'))}; or leave out --context docker`
  return undefined
}
