import { AgentError } from './errors.ts'

/** The eight classes of failure around tools and their permission. */
export type ErrorClass =
  | 'Validation'
  | 'ProviderTransient'
  | 'ProviderCapability'
  | 'ToolTransient'
  | 'ToolTerminal'
  | 'Session'
  | 'Cancellation'
  | 'ExtensionHost'

/** A failure to match on by class and code, such as `Validation` and `InvalidSecurityMode`. The message names both. */
export class CodedError extends AgentError {
  readonly class: ErrorClass
  readonly code: string
  constructor(name: `${ErrorClass}/${string}`, message: string, options?: ErrorOptions) {
    super(`${name}: ${message}`, options)
    const [errorClass = '', code = ''] = name.split('/')
    this.class = errorClass as ErrorClass
    this.code = code
  }
}
