using System.IO;
using UnrealBuildTool;

// Links ThirdParty/FloorGen of the plugin: floor_gen.h and the static library of clients/c.
public class TowerFloors : ModuleRules
{
    public TowerFloors(ReadOnlyTargetRules target) : base(target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "Engine" });

        var folder = Path.Combine(PluginDirectory, "ThirdParty", "FloorGen");
        PublicSystemIncludePaths.Add(folder);
        if (target.Platform == UnrealTargetPlatform.Win64)
        {
            PublicAdditionalLibraries.Add(Path.Combine(folder, "floor_gen_c.lib"));
            PublicSystemLibraries.AddRange(new[] { "ntdll.lib", "userenv.lib", "ws2_32.lib", "dbghelp.lib" });
        }
        else
        {
            PublicAdditionalLibraries.Add(Path.Combine(folder, "libfloor_gen_c.a"));
        }
    }
}
