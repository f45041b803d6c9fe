import { attachedPath, visibleName, visibleText } from '../libero.ts'
import { useOpened } from './session-context.ts'

export interface AttachedFileProps {
  readonly id: string
  readonly text: string
}

/** A file that the message named with `@`, as the model got it. */
export function AttachedFile({ id, text }: AttachedFileProps) {
  const [isOpen, toggle] = useOpened(id)
  const path = attachedPath(text)
  if (path === undefined) return null
  return (
    <>
      <button type="button" class="fold attachment" aria-expanded={isOpen} onClick={toggle}>
        <span class="chevron" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        {`file: ${visibleName(path)}`}
      </button>
      {isOpen && <p class="plain">{visibleText(text.slice(text.indexOf('\n') + 1))}</p>}
    </>
  )
}
