import { useState } from 'preact/hooks'
import type { ScreenProps } from '../frame/app.tsx'
import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { type DiffRow, pluralize, type RemoteFiles, visibleName, visibleText } from '../libero.ts'
import { DiffView } from '../parts/diff-view.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'
import { useKept } from '../parts/use-kept.ts'
import { FileCounts } from '../session/files-panel.tsx'
import { RollbackDialog } from '../session/rollback-dialog.tsx'
import type { Said } from '../session/session-context.ts'
import '../styles/files.css'

interface Comment {
  readonly path: string
  readonly line: number
  readonly code: string
  readonly text: string
}

/** All files that a session changed, to be reviewed: comments on lines go into the next message. */
export function FilesScreen({ route }: ScreenProps) {
  const { client, base } = usePage()
  const id = route.screen === 'session' ? route.id : ''
  const title = useAnswer(() => client.sessions.get(id), [id]).value?.title
  const files = useAnswer(() => client.sessions.files(id), [id])
  const [comments, setComments] = useKept<readonly Comment[]>(`comments ${id}`, [])
  const [isRollingBack, setRollingBack] = useState(false)
  const [said, setSaid] = useState<Said>()
  const { isBusy, problem, run } = useAction()
  const compose = (): Promise<boolean> =>
    run(async () => {
      const before = (await client.sessions.draft(id)).text.trimEnd()
      await client.sessions.saveDraft(id, [before, ...comments.map(commentText)].filter(Boolean).join('\n\n'))
      setComments([])
      navigate(base, { screen: 'session', id, part: 'chat' })
    })
  return (
    <section class="sheet">
      <header class="sheet-head">
        <h1>{`Files: ${visibleName(title ?? id)}`}</h1>
        <span class="row-buttons">
          <button type="button" onClick={() => setRollingBack(true)}>
            Roll back …
          </button>
          <Link to={{ screen: 'session', id, part: 'chat' }} class="button">
            Conversation
          </Link>
        </span>
      </header>
      {said && (
        <p role="status">
          {said.text}{' '}
          {said.action && (
            <button type="button" class="quiet" onClick={said.action.run}>
              {said.action.label}
            </button>
          )}
        </p>
      )}
      <Shown answer={files} what="changed files">
        {({ files: all, whyNoSnapshots }) => (
          <>
            <p class="facts">
              {all.length === 0 ? 'No file was changed yet' : `${pluralize(all.length, 'file')} changed`}
              {whyNoSnapshots !== undefined && `, as far as the log tells: ${visibleName(whyNoSnapshots)}`}
            </p>
            {all.map((file, i) => (
              <FileReview
                key={file.path}
                session={id}
                file={file}
                isOpenAtFirst={i < 5}
                comments={comments.filter(({ path }) => path === file.path)}
                onComment={(comment) => setComments([...comments, comment])}
                onRemove={(comment) => setComments(comments.filter((one) => one !== comment))}
              />
            ))}
          </>
        )}
      </Shown>
      <ProblemLine problem={problem} />
      {comments.length > 0 && (
        <div class="review-bar">
          <button type="button" class="primary" disabled={isBusy} onClick={compose}>
            {`Put ${pluralize(comments.length, 'comment')} into the message`}
          </button>
        </div>
      )}
      {isRollingBack && (
        <RollbackDialog
          session={id}
          to={0}
          onClose={() => setRollingBack(false)}
          onSaid={(now) => {
            setSaid(now)
            files.again()
          }}
        />
      )}
    </section>
  )
}

/** As a person would write it: where, the line, and what is to be said about it. */
const commentText = ({ path, line, code, text }: Comment): string => `${path}:${line}\n> ${code.trim()}\n${text}`

interface FileReviewProps {
  readonly session: string
  readonly file: RemoteFiles['files'][number]
  readonly isOpenAtFirst: boolean
  readonly comments: readonly Comment[]
  readonly onComment: (comment: Comment) => void
  readonly onRemove: (comment: Comment) => void
}

function FileReview({ session, file, isOpenAtFirst, comments, onComment, onRemove }: FileReviewProps) {
  const { path, kind, added, removed } = file
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const [row, setRow] = useState<DiffRow>()
  const { client } = usePage()
  const diff = useAnswer(async () => (isOpen ? client.sessions.fileDiff(session, path) : undefined), [isOpen, path])
  return (
    <article class="file-review">
      <h2>
        <button type="button" class="file-line" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <code class="one-line">{visibleName(path)}</code>
          <FileCounts kind={kind} added={added} removed={removed} />
        </button>
      </h2>
      {isOpen && diff.value && <DiffView diff={diff.value.diff} onLine={setRow} />}
      {isOpen && diff.value?.isCut && <p class="facts">The diff is too long; the rest is not shown.</p>}
      {row && (
        <CommentForm
          key={`${row.kind}${row.after ?? row.before}`}
          row={row}
          name={`comment ${session} ${path}`}
          onCancel={() => setRow(undefined)}
          onSave={(text) => {
            const code = row.parts.map((part) => part.text).join('')
            onComment({ path, line: row.after ?? row.before ?? 0, code, text })
            setRow(undefined)
          }}
        />
      )}
      {comments.map((comment) => (
        <p key={`${comment.line}${comment.text}`} class="comment">
          <span class="facts">{`line ${comment.line}`}</span>
          <span>{visibleText(comment.text)}</span>
          <button type="button" class="quiet" aria-label="Remove the comment" onClick={() => onRemove(comment)}>
            ✕
          </button>
        </p>
      ))}
    </article>
  )
}

interface CommentFormProps {
  readonly row: DiffRow
  /** Under which its text is kept until it is saved. */
  readonly name: string
  readonly onSave: (text: string) => void
  readonly onCancel: () => void
}

function CommentForm({ row, name, onSave, onCancel }: CommentFormProps) {
  const [text, setText] = useKept(`${name} ${row.kind}${row.after ?? row.before}`, '')
  return (
    <form
      class="comment-form"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === '') return
        setText('')
        onSave(text.trim())
      }}
    >
      <label>
        {`About line ${row.after ?? row.before}`}
        <textarea
          rows={2}
          value={text}
          ref={(field) => field?.focus()}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => event.key === 'Escape' && onCancel()}
        />
      </label>
      <button type="submit" class="primary" disabled={text.trim() === ''}>
        Comment
      </button>
      <button
        type="button"
        onClick={() => {
          setText('')
          onCancel()
        }}
      >
        Cancel
      </button>
    </form>
  )
}
