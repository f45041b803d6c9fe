import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../parts/failure.tsx'
import { Skeleton } from '../parts/skeleton.tsx'
import type { ScreenProps } from './app.tsx'
import type { Route } from './router.ts'

type Load = () => Promise<ComponentType<ScreenProps>>

const loaded = new Map<Load, ComponentType<ScreenProps>>()

/** A screen whose code is loaded when it is first shown. */
export function LazyScreen({ load, route }: { readonly load: Load; readonly route: Route }) {
  const [, redraw] = useState({})
  const [failure, setFailure] = useState<{ readonly of: Load; readonly error: unknown }>()
  const Screen = loaded.get(load)
  useEffect(() => {
    if (Screen) return
    load()
      .then((component) => {
        loaded.set(load, component)
        redraw({})
      })
      .catch((error: unknown) => setFailure({ of: load, error }))
  }, [load])
  if (Screen) return <Screen route={route} />
  if (failure?.of === load) return <Failure error={failure.error} todo="Reload the page." />
  return <Skeleton lines={8} />
}
