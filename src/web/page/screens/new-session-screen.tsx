import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import { navigate } from '../frame/router.ts'
import { useModel } from '../model/model.ts'
import { createBeginning } from '../new-session/create-beginning.ts'
import { type NewSessionDraft, newSessionDraft } from '../new-session/new-session-draft.ts'
import { useOffers } from '../new-session/use-offers.ts'
import { ProblemLine } from '../parts/problem-line.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

const modes = [
  ['', 'as in the settings'],
  ['plan', 'plan: changes nothing'],
  ['ask', 'ask: asks before changes'],
  ['allowlist', 'allowlist: what is listed runs'],
] as const

/** A new session: the first message, and where, with which model and under which rules it is answered. */
export function NewSessionScreen() {
  const { client, base, sessions } = usePage()
  const beginSession = useMemo(() => createBeginning(client), [client])
  const [draft, setDraft] = useState(newSessionDraft.read)
  const { models, profiles } = useOffers()
  const { value: about } = useAnswer(() => client.about(), [])
  const folders = [...new Set(useModel(sessions, (state) => state.sessions)?.flatMap(({ folder }) => folder ?? []))]
  const { isBusy, problem, run } = useAction()
  const message = useRef<HTMLTextAreaElement>(null)
  const isTouch = matchMedia('(pointer: coarse)').matches
  useEffect(() => message.current?.focus(), [])

  const change = (changes: Partial<NewSessionDraft>): void => {
    const next = { ...draft, ...changes }
    setDraft(next)
    newSessionDraft.save(next)
  }
  const begin = (event: Event): void => {
    event.preventDefault()
    if (isBusy || draft.text.trim() === '') return
    void run(async () => {
      const id = await beginSession(draft)
      newSessionDraft.clear()
      navigate(base, { screen: 'session', id, part: 'chat' })
    })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const sends = event.key === 'Enter' && !event.shiftKey && !event.isComposing && (!isTouch || event.ctrlKey)
    if (sends) begin(event)
  }
  return (
    <section class="sheet new-session">
      <h1>New session</h1>
      <form onSubmit={begin}>
        <label class="field">
          <span>What should be done?</span>
          <textarea
            ref={message}
            rows={6}
            value={draft.text}
            placeholder="Find the failing test and fix it"
            onInput={(event) => change({ text: event.currentTarget.value })}
            onKeyDown={onKeyDown}
          />
        </label>
        <div class="fields">
          <label class="field">
            <span>Folder</span>
            <input
              class="mono"
              list="known-folders"
              value={draft.folder ?? ''}
              placeholder={about?.folder ?? 'of the server'}
              onInput={(event) => change({ folder: event.currentTarget.value })}
            />
            <datalist id="known-folders">
              {folders.map((folder) => (
                <option key={folder} value={folder} />
              ))}
            </datalist>
          </label>
          {models.length > 0 && (
            <label class="field">
              <span>Model</span>
              <select value={draft.model ?? ''} onChange={(event) => change({ model: event.currentTarget.value })}>
                <option value="">as in the settings</option>
                {models.map(({ provider, id }) => (
                  <option key={`${provider}/${id}`} value={`${provider}/${id}`}>
                    {`${id} · ${provider}`}
                  </option>
                ))}
              </select>
            </label>
          )}
          <label class="field">
            <span>Mode</span>
            <select value={draft.mode ?? ''} onChange={(event) => change({ mode: event.currentTarget.value })}>
              {modes.map(([mode, words]) => (
                <option key={mode} value={mode}>
                  {words}
                </option>
              ))}
            </select>
          </label>
          {profiles.length > 0 && (
            <label class="field">
              <span>Profile</span>
              <select value={draft.profile ?? ''} onChange={(event) => change({ profile: event.currentTarget.value })}>
                <option value="">as in the settings</option>
                {profiles.map((name) => (
                  <option key={name} value={name}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
          )}
        </div>
        <div class="row-buttons new-session-end">
          <button type="submit" class="primary" disabled={isBusy || draft.text.trim() === ''}>
            {isBusy ? 'Beginning …' : 'Begin'}
          </button>
          <span class="facts">
            {isTouch ? 'Your text is kept until you begin.' : 'Enter begins · Shift+Enter breaks the line'}
          </span>
        </div>
        <ProblemLine problem={problem} />
      </form>
    </section>
  )
}
