import { useEffect, useState } from 'preact/hooks'
import { usePage } from '../frame/page-context.ts'
import type { RemoteSession, RemoteSessionQuery, SessionStatus } from '../libero.ts'
import { useModel } from '../model/model.ts'

/** Which sessions are listed. Empty: all. */
export interface SessionFilter {
  readonly state: '' | SessionStatus
  readonly folder: string
  readonly tag: string
}

export interface ListedSessions {
  /** Undefined until they were read. */
  readonly sessions: readonly RemoteSession[] | undefined
  readonly hasMore: boolean
  readonly loadMore: () => void
}

/** The sessions of a filter, kept up to date. The server filters, so that all of them count, not only those read so far. */
export function useSessions(filter: SessionFilter): ListedSessions {
  const { client, sessions: list } = usePage()
  const all = useModel(list)
  const [count, setCount] = useState(pageSize)
  const [found, setFound] = useState<{
    readonly of: string
    readonly sessions: readonly RemoteSession[]
    readonly hasMore: boolean
  }>()
  const query = queryOf(filter)
  const key = JSON.stringify(query)
  const isFiltered = key !== '{}'
  useEffect(() => setCount(pageSize), [key])
  useEffect(() => {
    if (!isFiltered) return
    let isCurrent = true
    const read = async (): Promise<void> => {
      const sessions: RemoteSession[] = []
      for (let cursor: string | undefined; ; ) {
        const limit = Math.min(1000, count - sessions.length)
        const page = await client.sessions.list({ ...query, limit, ...(cursor !== undefined && { cursor }) })
        sessions.push(...page.sessions)
        cursor = page.next
        if (cursor !== undefined && sessions.length < count) continue
        if (isCurrent) setFound({ of: key, sessions, hasMore: cursor !== undefined })
        return
      }
    }
    const timer = setTimeout(() => read().catch(() => {}), found?.of === key ? 300 : 0) // many changes, one request
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [key, count, all.sessions])
  if (!isFiltered) return { ...all, loadMore: () => void list.loadMore().catch(() => {}) }
  const { sessions, hasMore = false } = found?.of === key ? found : {}
  return { sessions, hasMore, loadMore: () => setCount(count + 10 * pageSize) }
}

const pageSize = 50

function queryOf({ state, folder, tag }: SessionFilter): RemoteSessionQuery {
  return { ...(state !== '' && { state }), ...(folder !== '' && { folder }), ...(tag !== '' && { tag }) }
}
