import { useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import type { RemoteSession } from '../libero.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { saveFile } from '../parts/save-file.ts'
import { useAction } from '../parts/use-action.ts'
import { ForkTree } from './fork-tree.tsx'

/** Rename, tag, label, fork, export and delete a session, and the tree of its forks. */
export function SessionActions({ session }: { readonly session: RemoteSession }) {
  const { client, base, sessions: list } = usePage()
  const { id, title = '', tags, status } = session
  const { isBusy, problem, run } = useAction()
  const [shows, setShows] = useState<'forks'>()
  const [said, setSaid] = useState('')

  const save = (event: SubmitEvent): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const text = (name: string): string => String(form.get(name) ?? '').trim()
    const wanted = text('tags')
      .split(/[,\s]+/)
      .filter(Boolean)
    void run(async () => {
      await client.sessions.update(id, { title: text('title'), tags: wanted })
      if (text('label') !== '') await client.sessions.label(id, text('label'))
      setSaid('Saved.')
    })
  }
  const fork = (): void =>
    void run(async () => {
      const copy = await client.sessions.fork(id)
      navigate(base, { screen: 'session', id: copy.id, part: 'chat' })
    })
  const remove = (): void =>
    void run(async () => {
      await client.sessions.delete(id)
      list.forget(id)
    })
  return (
    <div class="session-actions panel">
      <form class="fields" onSubmit={save}>
        <label class="field">
          <span>Title</span>
          <input name="title" defaultValue={title} required maxLength={200} />
        </label>
        <label class="field">
          <span>Tags, separated by spaces</span>
          <input name="tags" defaultValue={tags.join(' ')} />
        </label>
        <label class="field">
          <span>Label the end of the log</span>
          <input name="label" placeholder="such as: before the rewrite" />
        </label>
        <button type="submit" class="primary" disabled={isBusy}>
          Save
        </button>
      </form>
      <div class="row-buttons">
        <button type="button" disabled={isBusy} onClick={fork}>
          Fork
        </button>
        <button type="button" aria-expanded={shows === 'forks'} onClick={() => setShows(shows ? undefined : 'forks')}>
          Fork tree
        </button>
        <button
          type="button"
          disabled={isBusy}
          onClick={() => run(async () => saveFile(`${id}.jsonl`, await client.sessions.export(id)))}
        >
          Export
        </button>
        {status === 'parked' && (
          <button type="button" disabled={isBusy} onClick={() => run(() => client.sessions.unpark(id))}>
            Allow runs again
          </button>
        )}
        {status === 'interrupted' && (
          <button type="button" disabled={isBusy} onClick={() => run(() => client.continue(id))}>
            Continue
          </button>
        )}
        <ConfirmButton label="Delete" sure="Delete for good" disabled={isBusy} onConfirm={remove} />
        <span class="facts" role="status">
          {said}
        </span>
      </div>
      <ProblemLine problem={problem} />
      {shows === 'forks' && <ForkTree id={id} />}
    </div>
  )
}
