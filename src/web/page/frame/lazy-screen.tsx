import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { loadUntilThere } from '../model/back-off.ts'
import { Failure } from '../parts/failure.tsx'
import { Guard } from '../parts/guard.tsx'
import { whenNotLoaded } from '../parts/lazy.tsx'
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
    void loadUntilThere(load, (error) => setFailure({ of: load, error })).then((component) => {
      loaded.set(load, component)
      redraw({})
    })
  }, [load])
  if (Screen)
    return (
      <Guard what="screen" of={route}>
        <Screen route={route} />
      </Guard>
    )
  if (failure?.of === load) return <Failure error={failure.error} todo={whenNotLoaded} />
  return <Skeleton lines={8} />
}
