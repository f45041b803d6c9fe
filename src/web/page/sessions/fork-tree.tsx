import { Link } from '../frame/link.tsx'
import { usePage } from '../frame/page-context.ts'
import { type RemoteFork, visibleName } from '../libero.ts'
import { RelativeTime } from '../parts/relative-time.tsx'
import { Shown } from '../parts/shown.tsx'
import { useAnswer } from '../parts/use-answer.ts'

/** The copies of a session as a tree, each below the one it was copied from, with the labels of their logs. */
export function ForkTree({ id }: { readonly id: string }) {
  const { client } = usePage()
  const answer = useAnswer(() => client.sessions.forks(id), [id])
  return (
    <Shown answer={answer} what="fork trees">
      {(branches) => {
        const known = new Set(branches.map((branch) => branch.id))
        const roots = branches.filter(({ origin }) => !origin || !known.has(origin.session))
        return (
          <div class="fork-tree">
            {branches.length < 2 && <p class="facts">There is no other copy of this session.</p>}
            <Branches some={roots} all={branches} current={id} />
          </div>
        )
      }}
    </Shown>
  )
}

interface BranchesProps {
  readonly some: readonly RemoteFork[]
  readonly all: readonly RemoteFork[]
  readonly current: string
}

function Branches({ some, all, current }: BranchesProps) {
  if (some.length === 0) return null
  return (
    <ul>
      {some.map((branch) => {
        const { id, title, updatedAt, origin, labels } = branch
        const shared = origin?.seq ?? 0
        return (
          <li key={id}>
            <Link to={{ screen: 'session', id, part: 'chat' }}>{visibleName(title || id)}</Link>{' '}
            <span class="facts">
              {[id === current && 'this one', origin && `from entry ${origin.seq}`].filter(Boolean).join(' · ')}
            </span>{' '}
            <RelativeTime at={updatedAt} />
            {/* A copy does not repeat the labels that it shares. */}
            {labels
              .filter(({ seq }) => seq > shared)
              .map(({ seq, text }) => (
                <Link key={seq} to={{ screen: 'session', id, part: 'chat', seq }} class="tag">
                  {visibleName(text)}
                </Link>
              ))}
            <Branches some={all.filter((one) => one.origin?.session === id)} all={all} current={current} />
          </li>
        )
      })}
    </ul>
  )
}
