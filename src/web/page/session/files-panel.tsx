import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { visibleName } from '../libero.ts'
import type { ChangedFile } from '../model/session-api.ts'
import { DiffView } from '../parts/diff-view.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import { useSessionScreen } from './session-context.ts'
import { useSettledHead } from './use-settled-head.ts'

/** The files that the session changed, each with its diff when it is opened. */
export function FilesPanel() {
  const { session, api } = useSessionScreen()
  const head = useSettledHead()
  const files = useAnswer(() => api.files(), [session.id, head])
  return (
    <Shown answer={files} what="changed files">
      {({ files: all, whyNoSnapshots }) => (
        <>
          {all.length === 0 && <p class="facts">No file was changed yet.</p>}
          <ul class="files">
            {all.map((file) => (
              <File key={file.path} file={file} />
            ))}
          </ul>
          {whyNoSnapshots !== undefined && <p class="facts">{`From the log alone: ${visibleName(whyNoSnapshots)}`}</p>}
          {all.length > 0 && (
            <p>
              <Link to={{ screen: 'session', id: session.id, part: 'files' }}>Review all</Link>
            </p>
          )}
        </>
      )}
    </Shown>
  )
}

function File({ file: { path, kind, added, removed } }: { readonly file: ChangedFile }) {
  const { api } = useSessionScreen()
  const [isOpen, setOpen] = useState(false)
  const diff = useAnswer(async () => (isOpen ? api.fileDiff(path) : undefined), [isOpen, path, added, removed])
  return (
    <li>
      <button type="button" class="file-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="one-line" title={path}>
          {visibleName(path)}
        </span>
        <FileCounts kind={kind} added={added} removed={removed} />
      </button>
      {isOpen && diff.value && <DiffView diff={diff.value.diff} most={80} />}
      {isOpen && diff.value?.isCut && <p class="facts">The diff is cut; it is too long.</p>}
    </li>
  )
}

type FileCountsProps = { readonly [Key in 'kind' | 'added' | 'removed']: ChangedFile[Key] | undefined }

/** How many lines came and went, with signs that are read without colour. */
export function FileCounts({ kind, added, removed }: FileCountsProps) {
  return (
    <span class="file-counts">
      {kind !== 'changed' && <span class="facts">{kind === 'added' ? 'new' : 'deleted'}</span>}
      {added !== undefined && <span class="plus">{`+${added}`}</span>}
      {removed !== undefined && <span class="minus">{`−${removed}`}</span>}
    </span>
  )
}
