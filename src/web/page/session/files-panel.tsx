import { useState } from 'preact/hooks'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { type RemoteFiles, visibleName } from '../libero.ts'
import { lazy } from '../parts/lazy.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'
import type { FileDiffProps } from './file-diff.tsx'
import { useSessionScreen } from './session-context.ts'
import { useSettledHead } from './use-settled-head.ts'

const FileDiff = lazy<FileDiffProps>(async () => (await import('./file-diff.tsx')).FileDiff)

type ChangedFile = RemoteFiles['files'][number]

/** The files that the session changed, each with its diff when it is opened. */
export function FilesPanel() {
  const { client } = usePage()
  const { session } = useSessionScreen()
  const head = useSettledHead()
  const files = useAnswer(() => client.sessions.files(session.id), [session.id, head])
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
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <button type="button" class="file-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="one-line" title={path}>
          {visibleName(path)}
        </span>
        <FileCounts kind={kind} added={added} removed={removed} />
      </button>
      {isOpen && <FileDiff path={path} counts={`${added} ${removed}`} />}
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
