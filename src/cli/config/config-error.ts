import { UsageError } from '../cli-error.ts'

/** Something in a config file, or about one, is not as it should be: whatever was called, the help of `config` says more. */
export class ConfigError extends UsageError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, see: 'config' })
  }
}
