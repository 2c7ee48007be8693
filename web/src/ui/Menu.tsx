// Radix' menu behind a button.
import { DropdownMenu } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import css from "./Menu.module.css";

/** It is open at first: its code was fetched because somebody pressed its button (OnDemand). */
export function Menu({ trigger, children }: { trigger: ReactElement; children: ReactNode }) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={css.menu} sideOffset={6} align="end" collisionPadding={8}>{children}</DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface ItemProps {
  onSelect(): void;
  icon?: ReactNode;
  bad?: boolean;
  children: ReactNode;
}

export function MenuItem({ onSelect, icon, bad, children }: ItemProps) {
  return (
    <DropdownMenu.Item className={bad ? `${css.item} ${css.bad}` : css.item} onSelect={onSelect}>
      {icon}
      {children}
    </DropdownMenu.Item>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: Record<T, string>;
  onChange(value: T): void;
}

/** One of a few values, chosen inside of the menu. */
export function MenuChoice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <>
      <DropdownMenu.Label className={css.label}>{label}</DropdownMenu.Label>
      <DropdownMenu.RadioGroup aria-label={label} value={value} onValueChange={(v) => onChange(v as T)}>
        {(Object.entries(options) as [T, string][]).map(([key, text]) => (
          <DropdownMenu.RadioItem key={key} value={key} className={css.item} onSelect={(e) => e.preventDefault()}>
            <span className={css.mark}><DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator></span>
            {text}
          </DropdownMenu.RadioItem>
        ))}
      </DropdownMenu.RadioGroup>
    </>
  );
}

export const MenuLine = () => <DropdownMenu.Separator className={css.line} />;

export const MenuText = ({ children }: { children: ReactNode }) => <div className={css.text}>{children}</div>;
