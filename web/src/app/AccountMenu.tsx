import { CircleUser, LogOut } from "lucide-react";
import { useSignOut, type Session } from "../session/session";
import { IconButton } from "../ui/Button";
import { Menu, MenuChoice, MenuItem, MenuLine, MenuText } from "../ui/Menu";
import { useLanguage, useWords, type Language } from "../words/words";
import { useTheme } from "./theme";

export function AccountMenu({ session }: { session: Session }) {
  const words = useWords();
  const [language, setLanguage] = useLanguage();
  const [theme, setTheme] = useTheme();
  const signOut = useSignOut();
  return (
    <Menu trigger={<IconButton label={words.app.account}><CircleUser size={22} /></IconButton>}>
      <MenuText>
        <strong>{session.kind === "anonymous" ? words.session.anonymous : session.display_name}</strong>
        <br />
        <small>{session.roles.join(", ")}</small>
      </MenuText>
      <MenuLine />
      <MenuChoice label={words.app.theme} value={theme} options={words.app.themes} onChange={setTheme} />
      <MenuLine />
      <MenuChoice<Language> label={words.app.language} value={language} options={{ en: "English", zh: "中文" }} onChange={setLanguage} />
      {session.kind !== "anonymous" ? (
        <>
          <MenuLine />
          <MenuItem icon={<LogOut size={16} />} onSelect={() => void signOut()}>{words.app.signOut}</MenuItem>
        </>
      ) : null}
    </Menu>
  );
}
