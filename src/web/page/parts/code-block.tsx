import { useEffect, useState } from 'preact/hooks'
import { visibleText } from '../libero.ts'
import { CopyButton } from './copy-button.tsx'
import type { CodeSpan } from './highlight.ts'
import '../styles/code.css'

interface CodeBlockProps {
  readonly code: string
  readonly language?: string | undefined
  /** It still grows, and gets its colours when it is complete. */
  readonly isOpen?: boolean
}

/** A block of code with a button that copies it. The colours come later, from a worker, and change no size. */
export function CodeBlock({ code, language = '', isOpen = false }: CodeBlockProps) {
  const [coloured, setColoured] = useState<{ readonly code: string; readonly spans: readonly CodeSpan[] }>()
  useEffect(() => {
    if (isOpen || language === '') return
    let isCurrent = true
    const colour = async (): Promise<void> => {
      const spans = await (await import('./highlight.ts')).highlight(code, language)
      if (isCurrent && spans) setColoured({ code, spans })
    }
    colour().catch(() => {}) // it is read without colours too
    return () => {
      isCurrent = false
    }
  }, [code, language, isOpen])
  return (
    <div class="code-block">
      <div class="code-head">
        <span>{visibleText(language.slice(0, 40))}</span>
        <CopyButton text={code} what="code" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled with the keyboard */}
      <pre tabIndex={0}>
        <code>
          {coloured?.code === code
            ? coloured.spans.map(([scope, text], i) => (
                <span key={i} class={scope && `hl-${scope}`}>
                  {text}
                </span>
              ))
            : visibleText(code)}
        </code>
      </pre>
    </div>
  )
}
