import { usePage } from '../frame/page-context.ts'
import { fullyVisible, visibleName } from '../libero.ts'
import { ConfirmButton } from '../parts/confirm-button.tsx'
import { Empty } from '../parts/empty.tsx'
import { ProblemLine } from '../parts/problem-line.tsx'
import { RelativeTime } from '../parts/relative-time.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAction } from '../parts/use-action.ts'
import { useAnswer } from '../parts/use-answer.ts'

/** The approvals that count for longer than one call, and a way to take each back. */
export function GrantsPanel() {
  const { client } = usePage()
  const answer = useAnswer(() => client.grants(), [])
  const { isBusy, problem, run } = useAction()
  const revoke = async (id: string): Promise<void> => {
    if (await run(() => client.revokeGrant(id))) answer.again()
  }
  return (
    <Shown answer={answer} what="grants">
      {(grants) => (
        <>
          <ProblemLine problem={problem} />
          {grants.length === 0 && (
            <Empty title="Nothing is allowed for longer">
              <p>What you allow for a session or always is listed here, and can be taken back.</p>
            </Empty>
          )}
          <ul class="item-list">
            {grants.map(({ id, tool, covers, scope, project, where, grantedBy, grantedAt, expiresAt, bound = [] }) => (
              <li key={id}>
                <div class="item-head">
                  <strong>{fullyVisible(tool)}</strong>
                  <span class="tag">{scope === 'session' ? 'this session' : 'this project'}</span>
                  <span class="row-buttons">
                    <ConfirmButton label="Revoke" sure="Revoke now" disabled={isBusy} onConfirm={() => revoke(id)} />
                  </span>
                </div>
                <p class="item-text">
                  {[
                    fullyVisible(covers),
                    where && fullyVisible(where),
                    bound.length > 0 && `while unchanged: ${bound.map(visibleName).join(', ')}`,
                  ]
                    .filter(Boolean)
                    .join(' · ')}
                </p>
                <p class="item-text">
                  {`${visibleName(project)} · by ${visibleName(grantedBy)} `}
                  <RelativeTime at={grantedAt} />
                  {expiresAt !== undefined && ` · until ${new Date(expiresAt).toLocaleString()}`}
                </p>
              </li>
            ))}
          </ul>
        </>
      )}
    </Shown>
  )
}
