import { visibleText } from '../libero.ts'

/** Text of a model. */
export function Markdown({ text }: { readonly text: string; readonly isOpen?: boolean }) {
  return <p class="plain-markdown">{visibleText(text)}</p>
}
