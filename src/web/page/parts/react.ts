import { type ComponentChild, type ComponentType, createElement, options, type Ref } from 'preact'
import { jsx as element } from 'preact/jsx-runtime'

/**
 * What virtua, which is written for React, uses of it. `preact/compat` has all of React, of which a page would load much
 * that it never runs, and which looks at every element that is made.
 */
export { useEffect, useImperativeHandle, useLayoutEffect, useMemo, useReducer, useRef } from 'preact/hooks'

type Draw<Props> = (props: Props, ref: Ref<unknown> | null) => ComponentChild

/** Preact gives a component its `ref` among its properties. */
export const forwardRef =
  <Props extends { readonly ref?: Ref<unknown> }>(draw: Draw<Props>) =>
  (props: Props): ComponentChild =>
    draw(props, props.ref ?? null)

/** A component that is drawn again only if one of its properties is another one. */
export function memo<Props extends object>(component: ComponentType<Props>): (props: Props) => ComponentChild {
  return function Memo(this: { props: Props; shouldComponentUpdate(next: Props): boolean }, props: Props) {
    this.shouldComponentUpdate = (next) => !isSame(this.props, next)
    return createElement(component, props)
  }
}

function isSame<Props extends object>(a: Props, b: Props): boolean {
  const names = Object.keys(a) as (keyof Props)[]
  return names.length === Object.keys(b).length && names.every((name) => name in b && a[name] === b[name])
}

/** Draws at once what the callback changes. */
export function flushSync(callback: () => void): void {
  const before = options.debounceRendering
  let draw: (() => void) | undefined
  options.debounceRendering = (later) => {
    draw = later
  }
  try {
    callback()
    draw?.()
  } finally {
    options.debounceRendering = before!
  }
}

interface Styled {
  readonly style?: Readonly<Record<string, unknown>>
}

/** A number in a style is pixels. */
export function jsx(type: never, { style, ...props }: Styled, key?: string) {
  if (!style) return element(type, props as never, key)
  const inPixels = Object.entries(style).map(([name, value]) => [
    name,
    typeof value === 'number' ? `${value}px` : value,
  ])
  return element(type, { ...props, style: Object.fromEntries(inPixels) } as never, key)
}
