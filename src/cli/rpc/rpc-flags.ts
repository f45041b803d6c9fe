import { visibleName } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'

/** The flags of `libero rpc`, as they were given. */
export interface RpcValues {
  readonly provider?: string
  readonly model?: string
  readonly cwd?: string
  readonly 'api-key'?: string
  readonly 'base-url'?: string
  readonly 'system-prompt'?: string
  readonly 'append-system-prompt'?: readonly string[]
  readonly reasoning?: string
  readonly 'max-steps'?: string
  readonly tools?: string
  readonly 'no-tools'?: boolean
  readonly mode?: string
  readonly ext?: readonly string[]
  readonly 'with-skills'?: boolean
  readonly 'no-yolo'?: boolean
}

/** What to tell a person about flags that zot has and we do not. */
export function warningsOf(values: RpcValues): string[] {
  const given = [
    values['no-yolo'] && '--no-yolo has no effect over rpc, where nobody can be asked; see --mode',
    values.ext && '--ext has no effect: this version has no extensions of other programs',
    values['with-skills'] && '--with-skills has no effect: this version has no skills',
  ]
  return given.filter((text) => typeof text === 'string')
}
