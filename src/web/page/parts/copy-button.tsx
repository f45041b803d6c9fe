import { useEffect, useState } from 'preact/hooks'

interface CopyButtonProps {
  readonly text: string | (() => string | Promise<string>)
  /** What is copied, for those who hear the page: "code", "answer". */
  readonly what: string
  readonly label?: string
}

/** Copies a text and says for a moment that it did, or that the browser refused. */
export function CopyButton({ text, what, label = 'Copy' }: CopyButtonProps) {
  const [said, setSaid] = useState<string>()
  useEffect(() => {
    if (said === undefined) return
    const timer = setTimeout(() => setSaid(undefined), 1500)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async (): Promise<void> => {
    try {
      setSaid((await copyText(typeof text === 'string' ? text : await text())) ? 'Copied' : 'Not copied')
    } catch {
      setSaid('Not copied')
    }
  }
  return (
    <button type="button" class="quiet" aria-label={said === undefined ? `Copy ${what}` : said} onClick={copy}>
      {said ?? label}
    </button>
  )
}

/** Whether the browser took the text. Outside of secure contexts it has only the old way. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return (await import('./copy-selected.ts')).copySelected(text)
  }
}
