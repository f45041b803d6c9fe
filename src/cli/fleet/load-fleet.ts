import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../core/errors.ts'
import type { Fleet } from '../../durable/fleet.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'

/** The fleet that a module exports by default, or that a function it exports returns. */
export async function loadFleet(file: string, { cwd }: Pick<Io, 'cwd'>): Promise<Fleet> {
  const shown = visibleText(file)
  const loaded: { readonly default?: unknown } = await import(pathToFileURL(resolve(cwd, file)).href).catch((cause) => {
    throw new CliError(`cannot load the fleet of ${shown}: ${visibleText(messageOf(cause))}`, 1, { cause })
  })
  const made: unknown = typeof loaded.default === 'function' ? await loaded.default() : loaded.default
  if (isFleet(made)) return made
  throw new CliError(
    `${shown} exports no fleet; write: export default createFleet({ … }), with createFleet of libero/durable`,
  )
}

const isFleet = (value: unknown): value is Fleet =>
  typeof value === 'object' && value !== null && 'work' in value && 'send' in value && 'dispatcher' in value
