import { oneLine } from '../../core/text.ts'
import { createRedactor, type Redactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { cutToWidth } from '../../tui/terminal/text-width.ts'
import type { Io } from '../io.ts'

const titleColumns = 60

/** Shows titles on one line, without secrets, control characters visible. Secrets of `env` are known by value. */
export function titlesFor(env: Io['env']): (session: { readonly title?: string }) => string {
  const redactor = createRedactor({ env })
  return ({ title }) => visibleLine(titleWithoutSecrets(title, redactor), titleColumns)
}

/** The whole title without secrets. */
export function titleWithoutSecrets(title: string | undefined, redactor: Redactor): string {
  // A store keeps the beginning of a long title, which may end within a secret: no value or shape would match that.
  return redactor.text((title ?? '').replace(/\S*…$/, '…'))
}

/** A text on one line of at most `columns`, with control characters visible. */
export function visibleLine(text: string, columns: number): string {
  return cutToWidth(fullyVisible(oneLine(text)), columns)
}
